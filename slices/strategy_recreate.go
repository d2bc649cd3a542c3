package slices

// recreate stops all pods of old revisions before one of the new is started.
var recreate = strategy{order: highestFirst, together: true}
