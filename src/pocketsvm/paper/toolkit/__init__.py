"""What experiments share: clocks, stored results, tables, figures and pages."""
