package kubeconfig

// RefusedError is the reason why a kubeconfig is refused, with the remedy. It never contains secrets of the kubeconfig: no
// token, key or password. It contains no parser message either, because parsers quote the text that they reject.
type RefusedError struct {
	// Field is the path in the kubeconfig, such as `users[admin].user.exec`.
	Field string
	// Why is what the field contains and the reason for the refusal.
	Why string
	// Remedy is how to fix it.
	Remedy string
}

// Error implements error.
func (e *RefusedError) Error() string {
	return "kubeconfig refused: " + e.Field + " " + e.Why + ": " + e.Remedy
}

// rule refuses a field when it is broken.
type rule struct {
	broken      bool
	field       string
	why, remedy string
}

// check returns the refusal of the first broken rule, or nil.
func check(prefix string, rules []rule) error {
	for _, r := range rules {
		if r.broken {
			return &RefusedError{Field: prefix + r.field, Why: r.why, Remedy: r.remedy}
		}
	}
	return nil
}
