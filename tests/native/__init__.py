"""Sources in C++ that tests build: stand-ins for the vendors' libraries, and programs that use them."""
