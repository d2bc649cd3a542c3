// Package setup puts into two kind clusters what tests and demonstrations need before they
// can move anything: resource definitions, storage, the manager as it is shipped, and the
// rights and credentials of whoever moves.
package setup
