package terminal

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Redraw calls draw periodically until stop is called. After stop returns, draw does not run.
func Redraw(ticks clock.WithTicker, every time.Duration, draw func()) (stop func()) {
	stopped := make(chan struct{})
	ticker := ticks.NewTicker(every)
	var running sync.WaitGroup
	running.Go(func() {
		defer ticker.Stop()
		for {
			select {
			case <-stopped:
				return
			case <-ticker.C():
				draw()
			}
		}
	})
	return func() {
		close(stopped)
		running.Wait()
	}
}
