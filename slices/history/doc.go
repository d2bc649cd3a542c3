// Package history keeps the revisions of a StatefulSet of sliceshift: the templates that its pods were created from, and
// the template that they are updated to.
//
// A revision is a ControllerRevision. Its data is byte for byte what apps/v1 writes for the same template. Each kind of
// StatefulSet can therefore take over the history of the other, and its pods. Two revisions are equivalent if their
// templates are equal after the defaults of apps/v1 are set.
//
// These invariants hold after every Sync:
//
//	H1  the update revision is equivalent to spec.template and its inputs, and has the
//	    largest number;
//	H2  a template that was used before gets its old revision back, under its old name;
//	H3  no revision is deleted that status.currentRevision, the template or a pod
//	    names: a pod can always be recreated unchanged;
//	H4  of equivalent revisions the newest stays; the others are deleted once no pod
//	    names them any more;
//	H5  a history that is up to date is not written;
//	H6  while an input of the template cannot be had, the update revision does not change.
//
// An example, with revisionHistoryLimit 1: after the templates A, B and A again, web-a has number 3 and web-b number 2.
// Template C then creates web-c with number 4. web-b is deleted once no pod has it.
//
// Claim templates are versioned with the template if volumeClaimUpdateStrategy is OnPodRollingUpdate. Their requests are
// stored in an annotation, which apps/v1 ignores. A revision without it was written by apps/v1, and matches any claims.
//
// The inputs of a revision (package inputs) are stored in another annotation. A revision without it has none, and is equivalent
// only to revisions without inputs.
package history
