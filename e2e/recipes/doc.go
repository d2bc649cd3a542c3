// Command recipes moves a database by its recipe from one kind cluster to another, takes it back from the
// middle, and moves it again, while clients in both clusters write. It then looks on every member for each
// write that was acknowledged: make e2e-recipes.
package main
