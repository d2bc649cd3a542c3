package measure

import "errors"

// ErrMissed is what a measurement ends with whose figures are not all good enough.
var ErrMissed = errors.New("a goal was missed")
