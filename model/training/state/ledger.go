package state

import (
	"encoding/json"
	"fmt"

	"github.com/ergoflow/ergoflow/data/sets/ledger"
	"github.com/ergoflow/ergoflow/internal/safetensors"
)

// ledgerTensors are those that encodeLedger makes.
var ledgerTensors = []string{"ledger.steps", "ledger.words", "ledger.users"}

// encodeLedger returns a ledger's stretches as JSON and its numbers as tensors.
func encodeLedger(l ledger.Ledger) (string, []safetensors.Tensor, error) {
	stretches, err := json.Marshal(append([]ledger.Stretch{}, l.Stretches...))
	if err != nil {
		return "", nil, err
	}
	var words, users []int64
	for _, s := range l.Stretches {
		words, users = append(words, s.Words...), append(users, s.Users...)
	}
	shape := []int{len(l.Stretches), len(words) / max(len(l.Stretches), 1)}
	return string(stretches), []safetensors.Tensor{
		safetensors.Int64(ledgerTensors[0], []int{len(l.Words)}, l.Words),
		safetensors.Int64(ledgerTensors[1], shape, words),
		safetensors.Int64(ledgerTensors[2], shape, users),
	}, nil
}

func decodeLedger(file *safetensors.File, stretches string) (l ledger.Ledger, err error) {
	if err := json.Unmarshal([]byte(stretches), &l.Stretches); err != nil {
		return l, fmt.Errorf("ledger: %w", err)
	}
	tables := make([][]int64, len(ledgerTensors))
	for i, name := range ledgerTensors {
		t, err := file.Tensor(name)
		if err != nil {
			return l, err
		}
		if i > 0 && (len(t.Shape) != 2 || t.Shape[0] != len(l.Stretches)) {
			return l, fmt.Errorf("tensor %q has shape %v for %d stretches", name, t.Shape, len(l.Stretches))
		}
		values, err := t.Int64s()
		if err != nil {
			return l, err
		}
		tables[i] = append([]int64(nil), values...)
	}
	l.Words = tables[0]
	for i := range l.Stretches {
		s := &l.Stretches[i]
		s.Words, s.Users = row(tables[1], i, len(l.Stretches)), row(tables[2], i, len(l.Stretches))
	}
	return l, nil
}

// row is row i of n.
func row(table []int64, i, n int) []int64 {
	width := len(table) / n
	return table[i*width : (i+1)*width : (i+1)*width]
}
