package kubeconfig

// RefusedError says why a kubeconfig is not used, and what to do about it. It
// never holds what is secret in the kubeconfig: no token, key or password, and no
// parser's message, because those quote what they could not read.
type RefusedError struct {
	// Field is the place in the kubeconfig, such as `users[admin].user.exec`.
	Field string
	// Why says what was found there and why it is refused.
	Why string
	// Remedy says how to mend it.
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
