package registry

import "encoding/json"

// A version is two records, so that a list of ten thousand reads only what it shows.

// details are the fields of a version that List leaves out.
type details struct {
	Reasons []string          `json:"reasons,omitempty"`
	Seeds   map[string]uint64 `json:"seeds,omitempty"`
	Imports []string          `json:"imports,omitempty"`
	HeldOut string            `json:"held_out,omitempty"`
	Origin  string            `json:"origin,omitempty"`
	Config  json.RawMessage   `json:"config,omitempty"`
}

// outline is what List gives, without what its place in the registry says.
func (v Version) outline() Version {
	v.Aliases, v.Reasons, v.Seeds, v.Imports, v.HeldOut, v.Origin, v.Config = nil, nil, nil, nil, "", "", nil
	return v
}

func (v Version) details() details {
	return details{v.Reasons, v.Seeds, v.Imports, v.HeldOut, v.Origin, v.Config}
}

// with adds the details to an outline.
func (v Version) with(d details) Version {
	v.Reasons, v.Seeds, v.Imports, v.HeldOut, v.Origin, v.Config = d.Reasons, d.Seeds, d.Imports, d.HeldOut, d.Origin, d.Config
	return v
}

// putVersion stores both records.
func (s shelf) putVersion(v Version) error {
	if err := s.put(bucketVersions, key(v.Number), v.outline()); err != nil {
		return err
	}
	return s.put(bucketDetails, key(v.Number), v.details())
}

// whole reads both records.
func (s shelf) whole(number int) (Version, error) {
	v, err := s.version(number)
	if err != nil {
		return v, err
	}
	var d details
	found, err := s.get(bucketDetails, key(number), &d)
	if err == nil && !found {
		err = corrupt("version %s has no details", v.Ref())
	}
	return v.with(d), err
}
