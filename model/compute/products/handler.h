#ifndef ERGOFLOW_PRODUCTS_HANDLER_H_
#define ERGOFLOW_PRODUCTS_HANDLER_H_

// register_handlers makes the kernels known to the programs of the PJRT plugin at path, which is
// loaded already, as targets of custom calls. It returns NULL, or why that failed; the text lives
// as long as the process.
const char *register_handlers(const char *path);

#define PRODUCT_TARGET "ergoflow_product"
#define LAYER_TARGET "ergoflow_layer"
#define LAYER_GRADIENT_TARGET "ergoflow_layer_gradient"
#define GELU_GRADIENT_TARGET "ergoflow_gelu_gradient"
#define NORM_LAYER_TARGET "ergoflow_norm_layer"
#define NORM_MEAN_TARGET "ergoflow_norm_mean"
#define NORM_LAYER_GRADIENT_TARGET "ergoflow_norm_layer_gradient"
#define NORM_GRADIENT_TARGET "ergoflow_norm_gradient"

#endif
