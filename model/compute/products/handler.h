#ifndef ERGOFLOW_PRODUCTS_HANDLER_H_
#define ERGOFLOW_PRODUCTS_HANDLER_H_

// register_handler makes the kernels known to the programs of the PJRT plugin at path, which is
// loaded already, as the target of custom calls named TARGET_NAME. It returns NULL, or why that
// failed; the text lives as long as the process.
const char *register_handler(const char *path);

#define TARGET_NAME "ergoflow_product"

// role, an attribute of a call, says which fields of a product its arguments and results are, in
// the order of kernel.h. Those from NORM_LAYER on normalise.
enum role { PRODUCT, LAYER, LAYER_GRADIENT, GELU_GRADIENT, NORM_LAYER, NORM_MEAN, NORM_LAYER_GRADIENT, NORM_GRADIENT };

#endif
