package placement

// queue is a heap of pairs for container/heap, the first on top.
type queue struct {
	pairs  []pair
	before func(a, b pair) bool
}

func (q *queue) Len() int           { return len(q.pairs) }
func (q *queue) Less(i, j int) bool { return q.before(q.pairs[i], q.pairs[j]) }
func (q *queue) Swap(i, j int)      { q.pairs[i], q.pairs[j] = q.pairs[j], q.pairs[i] }
func (q *queue) Push(p any)         { q.pairs = append(q.pairs, p.(pair)) }

func (q *queue) Pop() any {
	last := len(q.pairs) - 1
	p := q.pairs[last]
	q.pairs = q.pairs[:last]
	return p
}
