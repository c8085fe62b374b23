"""RPD files of rocmProfileData, and the traces made of them."""
