package v1alpha1

import (
	"encoding/json"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/sliceshift/sliceshift/internal/tolerant"
)

// UnmarshalJSON implements json.Unmarshaler. What does not fit a field is left out and named in Unreadable: one object that
// did not decode would hide all Migrations from whoever lists them.
func (m *Migration) UnmarshalJSON(data []byte) error {
	type plain Migration
	faults, err := tolerant.Decode(data, (*plain)(m))
	m.Unreadable = faults
	return err
}

// Faults are what was left out.
func (m *Migration) Faults() []tolerant.Fault { return m.Unreadable }

// JobSpec is the spec of a Job as it is written in a Migration. The API server does not check it, so it may hold what no
// Job has.
type JobSpec struct {
	batchv1.JobSpec `json:",inline"`
	// Unread is what of it does not fit a Job; nil: all of it does.
	Unread *Unread `json:"-"`
}

// Unread is what does not fit a type.
type Unread struct {
	// Written is the whole, as it is written.
	Written []byte
	// Fault is the first field of it that does not fit.
	Fault tolerant.Fault
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *JobSpec) UnmarshalJSON(data []byte) error {
	faults, err := tolerant.Decode(data, &s.JobSpec)
	s.Unread = nil
	if len(faults) > 0 {
		s.Unread, err = &Unread{Written: append([]byte(nil), data...), Fault: faults[0]}, nil
	}
	return err
}

// MarshalJSON implements json.Marshaler: what could not be read is written as it was.
func (s JobSpec) MarshalJSON() ([]byte, error) {
	if s.Unread != nil {
		return s.Unread.Written, nil
	}
	return json.Marshal(s.JobSpec)
}
