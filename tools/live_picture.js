// Draws the rows, the decision values and the support vectors of the chosen model.
const figure = document.getElementById("live");
if (figure) {
    const canvas = figure.querySelector("canvas");
    const slider = figure.querySelector("input");
    const [about, below] = figure.querySelectorAll("output");
    const context = canvas.getContext("2d");
    const size = canvas.width, cell = 3, reach = 1.2;
    const at = (pixel) => (2 * pixel / size - 1) * reach;
    const to = (x) => (x / reach + 1) / 2 * size;
    slider.max = models.length - 1;

    const shade = (value) => {
        const strength = Math.round(60 * Math.tanh(Math.abs(value)));
        return value > 0 ? `rgb(255 ${235 - strength} ${215 - 2 * strength})`
            : `rgb(${220 - 2 * strength} ${235 - strength} 255)`;
    };
    const dot = (x, y, radius, fill, line) => {
        context.beginPath();
        context.arc(to(x), size - to(y), radius, 0, 2 * Math.PI);
        context.fillStyle = fill;
        context.fill();
        context.strokeStyle = line;
        context.stroke();
    };
    const draw = () => {
        const model = models[slider.value];
        const n = size / cell;
        const values = Array.from({ length: n * n }, (_, k) =>
            model.decision([at((k % n + 0.5) * cell), -at((Math.floor(k / n) + 0.5) * cell)])[0]);
        values.forEach((value, k) => {
            const others = [k % n < n - 1 ? values[k + 1] : value, values[k + n] ?? value];
            const ends = others.some((other) => (other > 0) !== (value > 0));
            context.fillStyle = ends ? "#333" : shade(value);
            context.fillRect(k % n * cell, Math.floor(k / n) * cell, cell, cell);
        });
        for (const [x, y, label] of rows) dot(x, y, 2.5, label ? "#c2410c" : "#1d4ed8", "#fff8");
        for (const [x, y] of model.vectors) dot(x, y, 5, "#0000", "#000");
        about.textContent = `${model.vectors.length} support vectors, ${model.bytes} bytes: ` +
            `${model.accuracy} % of new rows are right`;
    };
    slider.addEventListener("input", draw);
    canvas.addEventListener("mousemove", (event) => {
        const scale = size / canvas.clientWidth;
        const x = at(event.offsetX * scale), y = -at(event.offsetY * scale);
        const value = models[slider.value].decision([x, y])[0];
        below.textContent = `decision value at (${x.toFixed(2)}, ${y.toFixed(2)}): ${value.toFixed(3)}`;
    });
    draw();
}
