package kernels

// Attention computes softmax(QKᵀ)V of the tokens of one state, with several heads. It keeps
// scratch memory: it is for one goroutine.
type Attention struct {
	tokens, heads, head int
	keys                *Dense // query [head] → scores [tokens]
	values              *Dense // scores [tokens] → [head]
	scores, read        []float32
}

// NewAttention is for that many tokens, and heads of width head.
func NewAttention(tokens, heads, head int) *Attention {
	return &Attention{
		tokens: tokens, heads: heads, head: head, keys: EmptyDense(head, tokens), values: EmptyDense(tokens, head),
		scores: make([]float32, tokens*tokens), read: make([]float32, tokens*head),
	}
}

// Apply writes the heads' results, side by side, to dst [tokens, heads·head]. The rows of x
// [tokens, 3·heads·head] are queries, keys and values, side by side, each with its heads side by
// side. The queries are already divided by √head.
func (a *Attention) Apply(dst, x []float32) {
	width := a.heads * a.head
	for h := range a.heads {
		for i := range a.tokens {
			row := x[i*3*width+h*a.head:]
			a.keys.SetColumn(i, row[width:width+a.head])
			a.values.SetRow(i, row[2*width:2*width+a.head])
		}
		a.keys.ApplyStrided(a.scores, x[h*a.head:], a.tokens, 3*width, Linear)
		Softmax(a.scores, a.tokens)
		a.values.Apply(a.read, a.scores, Linear)
		for i := range a.tokens {
			copy(dst[i*width+h*a.head:][:a.head], a.read[i*a.head:])
		}
	}
}
