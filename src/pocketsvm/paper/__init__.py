"""The paper's experiments: its data sets and published figures, and the audit of decisions.

`datasets` knows the files, settings and figures; `download` fetches the files; `audit` asks several
strategies for their decisions in one training run.
"""
