package v1alpha1

import "github.com/sliceshift/sliceshift/internal/tolerant"

// UnmarshalJSON implements json.Unmarshaler. What does not fit a field is left out and named in Unreadable: one object that
// did not decode would hide all StatefulSets of this kind from whoever lists them.
func (s *StatefulSet) UnmarshalJSON(data []byte) error {
	type plain StatefulSet
	faults, err := tolerant.Decode(data, (*plain)(s))
	s.Unreadable = faults
	return err
}

// Faults are what was left out.
func (s *StatefulSet) Faults() []tolerant.Fault { return s.Unreadable }

// Faults are what was left out of all of them. Each is named by its StatefulSet.
func (l *StatefulSetList) Faults() []tolerant.Fault {
	var all []tolerant.Fault
	for i := range l.Items {
		for _, fault := range l.Items[i].Unreadable {
			fault.Field = "StatefulSet " + l.Items[i].Namespace + "/" + l.Items[i].Name + ": " + fault.Field
			all = append(all, fault)
		}
	}
	return all
}
