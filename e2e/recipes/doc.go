// Command recipes moves a database by its recipe from one kind cluster to another, rolls it back halfway, and moves it
// again, while clients in both clusters write. It then checks every member for each acknowledged write: make
// e2e-recipes.
package main
