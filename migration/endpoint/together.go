package endpoint

import (
	"errors"
	"fmt"
	"runtime/debug"

	"golang.org/x/sync/errgroup"
)

// Together runs reads concurrently and joins their errors. A panic in a read, such as on an invalid answer of a
// foreign cluster, is raised in the caller. There the manager recovers it for one Migration; in another goroutine it
// would end the manager.
func Together(reads ...func() error) error { return Within(len(reads), reads...) }

// Within is Together with a limit of concurrent reads.
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
