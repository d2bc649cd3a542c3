package measure

import (
	"context"
	"errors"
)

// Run measures a scenario, prints its figures and writes them into the documentation.
type Run func(context.Context) error

// ErrMissed is the error of a measurement that misses a goal.
var ErrMissed = errors.New("a goal was missed")
