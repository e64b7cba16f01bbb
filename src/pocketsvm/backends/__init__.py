"""Backends compute kernel values, and sums over them.

    passes ─► vectors ─► solver ─► model ─► predict
                           └── backend ──┘

The solver and the prediction ask a backend for a few things, and touch no kernel value themselves:

- `kernel_rows` keeps or computes blocks of the kernel values of rows (`kernel`): decision values,
  pulls, and the slope in the positions are sums over them;
- `row_hessian` is the Hessian of the losses of rows, and `penalty` the matrix among the vectors
  that is added to it, and factored (`hessian`);
- `whitened` finds Newton's directions of small working sets in the space of their rows;
- `read` sums the losses of a chunk of rows, and `decide` predicts: both keep no kernel values.

What has one number for each row and output is a NumPy array on both sides.

`base` states the contract, `native` has it with the native core.
"""
