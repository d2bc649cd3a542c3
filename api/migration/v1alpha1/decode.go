package v1alpha1

import (
	"encoding/json"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/sliceshift/sliceshift/api/tolerant"
)

// UnmarshalJSON implements json.Unmarshaler. It drops values that do not fit their field and lists these fields in
// Unreadable. An error would fail the whole list of Migrations because of one object.
func (m *Migration) UnmarshalJSON(data []byte) error {
	type plain Migration
	faults, err := tolerant.Decode(data, (*plain)(m))
	m.Unreadable = faults
	return err
}

// Faults returns the fields whose values were dropped.
func (m *Migration) Faults() []tolerant.Fault { return m.Unreadable }

// UnmarshalJSON implements json.Unmarshaler, as that of a Migration does.
func (e *Evacuation) UnmarshalJSON(data []byte) error {
	type plain Evacuation
	faults, err := tolerant.Decode(data, (*plain)(e))
	e.Unreadable = faults
	return err
}

// Faults returns the fields whose values were dropped.
func (e *Evacuation) Faults() []tolerant.Fault { return e.Unreadable }

// JobSpec is the spec of a Job as written in a Migration. The API server does not validate it, so it may contain
// values that no Job accepts.
type JobSpec struct {
	batchv1.JobSpec `json:",inline"`
	// Unread is the part that does not fit a Job; nil if all of it does.
	Unread *Unread `json:"-"`
}

// Unread is a value that does not fit its type.
type Unread struct {
	// Written is the whole value, as written.
	Written []byte
	// Fault is the first of its fields that does not fit.
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

// MarshalJSON implements json.Marshaler. A value that could not be decoded is written back unchanged.
func (s JobSpec) MarshalJSON() ([]byte, error) {
	if s.Unread != nil {
		return s.Unread.Written, nil
	}
	return json.Marshal(s.JobSpec)
}
