"""Small tools that do not depend on tensors or on selection."""
