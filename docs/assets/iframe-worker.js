// Browsers refuse to start a Worker from a page that was opened as a file. The search then runs in a
// hidden frame that receives and posts the same messages.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = null;
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      const inside = frame.contentWindow;
      inside.document.open();
      inside.document.write("<!doctype html><body></body>");
      inside.document.close();
      inside.postMessage = (data) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        if (this.onmessage) this.onmessage(event);
      };
      this.postMessage = (data) => this.waiting.push(data);
      this.terminate = () => frame.remove();
      const script = inside.document.createElement("script");
      script.src = url;
      script.onload = () => {
        this.postMessage = (data) =>
          inside.dispatchEvent(new inside.MessageEvent("message", { data }));
        this.waiting.forEach(this.postMessage);
      };
      inside.document.body.appendChild(script);
    }
  };
}
