package copy

import "time"

const (
	// secondPause is the pause after two failures in a row. It doubles with each further failure, up to longestPause.
	secondPause  = time.Minute
	longestPause = time.Hour
)

// growing returns the pause after a number of failures in a row: of disks, each of which a class may retain, or of
// provers, each of which reads a whole volume. After a single failure there is none.
func growing(failures int32) time.Duration {
	if failures < 2 {
		return 0
	}
	return min(secondPause<<min(failures-2, 10), longestPause)
}

// left returns how much is left of a pause that began at a time. Nothing is left if that time is in the future: the
// clock was set back since, and the pause must not last until it has caught up.
func (v view) left(pause time.Duration, since time.Time) time.Duration {
	if left := pause - v.Now.Sub(since); left <= pause {
		return max(left, 0)
	}
	return 0
}
