package measure

import "errors"

// ErrMissed is the error of a measurement that misses a goal.
var ErrMissed = errors.New("a goal was missed")
