// Package inputs describes the inputs of a revision: the ConfigMaps and Secrets of spec.revisionInputs that its template
// names. It sends no request.
//
// A revision records each input as a content: the hash of the object's data, or absent. Pods of the revision refer to an
// immutable copy of that content, whose name is that of the object and the hash. References are rewritten in the pods alone:
// spec.template and the data of a ControllerRevision keep the names of the objects, so that apps/v1 and a migration read them.
//
// These invariants hold:
//
//	N1  pods of one revision refer to one content of each input, whatever happens to the object;
//	N2  equal contents have equal names, in any set and cluster, so that a template change alone
//	    changes no reference and two sets share a copy;
//	N3  a reference outside of spec.revisionInputs is not changed.
//
// The hash is the first 64 bits of a SHA-256 over all keys and values of an object. It is shown in names and annotations.
// It does not show the data, but it confirms a guess of all of it: a Secret whose only value is a short PIN can be found by
// trying. A hash with a secret key would not, but with another key, or in another cluster, every name would differ, and every
// pod would restart.
package inputs
