"""RPD files of rocmProfileData, and the traces made from them."""
