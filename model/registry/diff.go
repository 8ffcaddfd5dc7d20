package registry

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// Difference is one field in which two versions differ. What a version lacks is null.
type Difference struct {
	Field string          `json:"field"` // dotted path, as config.training.learning_rate
	A     json.RawMessage `json:"a"`
	B     json.RawMessage `json:"b"`
}

// Diff lists the fields in which two versions differ, but for their names.
func Diff(a, b Version) ([]Difference, error) {
	x, err := a.leaves()
	if err != nil {
		return nil, err
	}
	y, err := b.leaves()
	if err != nil {
		return nil, err
	}
	all := maps.Clone(x)
	maps.Copy(all, y)
	differences := []Difference{}
	for _, field := range slices.Sorted(maps.Keys(all)) {
		if !bytes.Equal(x[field], y[field]) {
			differences = append(differences, Difference{field, orNull(x[field]), orNull(y[field])})
		}
	}
	return differences, nil
}

func orNull(value json.RawMessage) json.RawMessage {
	if value == nil {
		return json.RawMessage("null")
	}
	return value
}

// leaves are the version's fields of JSON by their paths, those of objects in it one by one.
func (v Version) leaves() (map[string]json.RawMessage, error) {
	encoded, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	all := make(map[string]json.RawMessage)
	if err := collect(all, "", encoded); err != nil {
		return nil, err
	}
	for _, field := range []string{"name", "version", "aliases", "created", "key"} {
		delete(all, field)
	}
	return all, nil
}

func collect(all map[string]json.RawMessage, path string, value json.RawMessage) error {
	if value[0] != '{' {
		all[path] = value
		return nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(value, &object); err != nil {
		return err
	}
	if path != "" {
		path += "."
	}
	for name, inner := range object {
		if err := collect(all, path+name, inner); err != nil {
			return err
		}
	}
	return nil
}
