"""The table that makes merging fast

When the budget is exceeded, two vectors are merged. The best place of the merged vector depends on
only two numbers: `m`, the share of the first vector, and `kappa`, the kernel value of the pair.
`MergeTable` holds the solutions for a grid of both. The left map shows the place `h` on the line
between the two vectors, the right map the loss `wd` caused by merging.
"""

from pocketsvm import MergeTable, golden_section

table = MergeTable()
table.plot()
h, wd = golden_section(0.7, 0.8, eps=1e-10)
print(f"golden section: h {h:.4f}, wd {wd:.6f}")
print(f"table:          h {table.h(0.7, 0.8):.4f}, wd {table.wd(0.7, 0.8):.6f}")
