package jobs

import (
	"encoding/json"
	"fmt"

	"github.com/ergoflow/ergoflow"
)

// decodeJob reads a message of the queue and checks that it fits its subject: any
// process that reaches the server may have published it.
func decodeJob(subject string, data []byte) (Job, error) {
	job, err := decode[Job](data)
	if err != nil {
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
	r, err := decode[Result](data)
	if err != nil {
		return r, err
	}
	if len(r.Error) > maxError {
		return r, fmt.Errorf("its error has %d bytes, more than %d", len(r.Error), maxError)
	}
	return r, isOf(run, r.Run, r.Shard)
}

// decodeReturn reads that a job of the run is given back.
func decodeReturn(run string, data []byte) (returned, error) {
	r, err := decode[returned](data)
	if err != nil {
		return r, err
	}
	return r, isOf(run, r.Run, r.Shard)
}

// decode reads a message of any kind.
func decode[T any](data []byte) (m T, err error) {
	if len(data) > maxMessage {
		return m, fmt.Errorf("%d bytes, more than %d", len(data), maxMessage)
	}
	err = json.Unmarshal(data, &m)
	return m, err
}

// isOf refuses a message of another run, or of a shard that no run has.
func isOf(run, its string, shard int) error {
	switch {
	case its != run:
		return fmt.Errorf("it is of run %.128q", its)
	case shard < 0 || shard > ergoflow.MaxShards:
		return fmt.Errorf("it is of shard %d", shard)
	}
	return nil
}
