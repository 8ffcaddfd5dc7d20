package jobs

import (
	"encoding/json"
	"fmt"
)

// maxShard is more than any data set has.
const maxShard = 1 << 16

// decodeJob reads a message of the queue. Anybody who reaches the server may have
// put it there: it must be what its subject says.
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
	case r.Shard < 0 || r.Shard > maxShard:
		return r, fmt.Errorf("it is of shard %d", r.Shard)
	case len(r.Error) > maxError:
		return r, fmt.Errorf("its error has %d bytes, more than %d", len(r.Error), maxError)
	}
	return r, nil
}
