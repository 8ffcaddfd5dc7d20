package reproduce

// Studies are the paper's tables and figures, and those of a direction that it
// leaves open. A new one is a new element here; `reproduce` offers those whose
// experiments the program has.
var Studies = []Study{vn1d, rare1d, cn2d, cn2dTransfer, particles64d, vn1dTime}
