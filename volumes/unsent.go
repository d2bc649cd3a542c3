package volumes

// UnsentError is the error of a write that was not sent to any cluster, because it is not known or would change nothing.
// It is a defect of this program: each decision to write is one to change something.
type UnsentError struct {
	// Reason describes the write, for people.
	Reason string
}

// Error implements error.
func (e *UnsentError) Error() string { return e.Reason }
