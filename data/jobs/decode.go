package jobs

import (
	"encoding/json"
	"fmt"

	"github.com/ergoflow/ergoflow"
)

// decodeJob reads a message of the queue and checks that it fits its subject: any
// process that reaches the server may have published it.
func decodeJob(subject string, data []byte) (Job, error) {
	var job Job
	if len(data) > maxMessage {
		return job, fmt.Errorf("%d bytes, more than %d", len(data), maxMessage)
	}
	if err := json.Unmarshal(data, &job); err != nil {
		return job, err
	}
	if err := job.Validate(); err != nil {
		return job, err
	}
	if own := job.subject("jobs"); own != subject {
		return job, fmt.Errorf("it belongs to subject %s", own)
	}
	return job, nil
}

// decodeResult reads a result of the run.
func decodeResult(run string, data []byte) (Result, error) {
	var r Result
	if len(data) > maxMessage {
		return r, fmt.Errorf("%d bytes, more than %d", len(data), maxMessage)
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, err
	}
	switch {
	case r.Run != run:
		return r, fmt.Errorf("it is of run %.128q", r.Run)
	case r.Shard < 0 || r.Shard > ergoflow.MaxShards:
		return r, fmt.Errorf("it is of shard %d", r.Shard)
	case len(r.Error) > maxError:
		return r, fmt.Errorf("its error has %d bytes, more than %d", len(r.Error), maxError)
	}
	return r, nil
}

// decodeReturn reads that a job of the run is given back.
func decodeReturn(run string, data []byte) (returned, error) {
	var r returned
	if len(data) > maxMessage {
		return r, fmt.Errorf("%d bytes, more than %d", len(data), maxMessage)
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, err
	}
	switch {
	case r.Run != run:
		return r, fmt.Errorf("it is of run %.128q", r.Run)
	case r.Shard < 0 || r.Shard > ergoflow.MaxShards:
		return r, fmt.Errorf("it is of shard %d", r.Shard)
	}
	return r, nil
}
