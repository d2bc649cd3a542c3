package v1alpha1

import "github.com/sliceshift/sliceshift/api/tolerant"

// UnmarshalJSON implements json.Unmarshaler. It leaves out values that have the wrong type for their field, and lists these
// fields in Unreadable. One object that failed to decode would hide all StatefulSets of this kind from every list and watch.
func (s *StatefulSet) UnmarshalJSON(data []byte) error {
	type plain StatefulSet
	faults, err := tolerant.Decode(data, (*plain)(s))
	s.Unreadable = faults
	return err
}

// Faults returns the fields that were left out when the object was decoded.
func (s *StatefulSet) Faults() []tolerant.Fault { return s.Unreadable }

// Faults returns the fields that were left out of all items. Each fault is prefixed with the name of its StatefulSet.
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
