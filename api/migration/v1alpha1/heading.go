package v1alpha1

// Heading returns the direction in which ordinals move under a fence: Forward before a process drives the migration.
func (f *Fence) Heading() Direction {
	if f == nil {
		return Forward
	}
	return f.Direction
}
