package endpoint

import (
	"errors"
	"fmt"
	"runtime/debug"

	"golang.org/x/sync/errgroup"
)

// Together runs reads at the same time and joins their errors. A panic of one, on what a foreign cluster says, is one of the
// caller: the manager recovers it for one Migration, and would end by it in another goroutine.
func Together(reads ...func() error) error { return Within(len(reads), reads...) }

// Within is Together, with at most so many reads at the same time.
func Within(most int, reads ...func() error) error {
	errs, panics := make([]error, len(reads)), make([]any, len(reads))
	var group errgroup.Group
	group.SetLimit(max(most, 1))
	for i, read := range reads {
		group.Go(func() error {
			defer func() {
				if cause := recover(); cause != nil {
					panics[i] = fmt.Sprintf("%v\n%s", cause, debug.Stack())
				}
			}()
			errs[i] = read()
			return nil
		})
	}
	_ = group.Wait()
	for _, cause := range panics {
		if cause != nil {
			panic(cause)
		}
	}
	return errors.Join(errs...)
}
