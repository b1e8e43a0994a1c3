"""What the handlers of calls share: the catalog that a call sees, names, files, filters, locks and transactions."""
