#ifndef ERGOFLOW_PRODUCTS_HANDLER_H_
#define ERGOFLOW_PRODUCTS_HANDLER_H_

// register_handler makes the kernel known to the programs of the PJRT plugin at path, which is
// loaded already, as the target of custom calls named TARGET_NAME. It returns NULL, or why that
// failed; the text lives as long as the process.
const char *register_handler(const char *path);

#define TARGET_NAME "ergoflow_product"

#endif
