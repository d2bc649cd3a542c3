// Package setup installs the prerequisites of tests and demonstrations in two kind clusters: resource definitions,
// storage, the shipped manager, and the rights and credentials of the account that moves.
package setup
