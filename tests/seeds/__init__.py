"""The flows of the documents that the product comes from, as a user of Azure ML writes them."""
