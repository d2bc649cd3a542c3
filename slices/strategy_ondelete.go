package slices

// onDelete leaves it to whoever deletes a pod.
var onDelete = strategy{}
