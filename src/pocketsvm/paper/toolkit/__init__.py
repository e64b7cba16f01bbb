"""What all experiments share: measuring, stored results, tables, figures and pages."""
