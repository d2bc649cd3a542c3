// Package config holds the manager's configuration: one typed struct, read from a YAML file, the environment and flags,
// in rising order of precedence.
//
// A setting has one name in three spellings:
//
//	file         leaderElection.leaseDuration  (nested, as in YAML)
//	environment  SLICESHIFT_LEADER_ELECTION_LEASE_DURATION
//	flag         --leader-election-lease-duration
//
// Reading is strict: an unknown key in the file, a value of another type and a value out of range are errors that name
// the source of the value.
//
// The subfolders hold the kustomize manifests. crd, rbac and manager are embedded, so that the command line can install
// them. recipes holds the embedded recipes.
package config
