// Package transfer makes one tree, or one block device, equal to another over a network, and proves
// that it is.
//
// A receiver asks and a sender answers (package wire). In one pass the receiver
//
//  1. has the sender's entries listed, and compares them with its own, path by path;
//  2. removes what the sender has not, makes what is missing, and asks for content where it differs:
//     small files by the hundred, large ones by ranges, with the digests of what it has there;
//  3. writes metadata, those of a folder once nothing more happens in it;
//  4. has everything written to the disk (Tree.Sync);
//  5. has both sides read their content again, and compares row by row and root with root.
//
// In a warm pass the sender's application runs: what vanishes or changes is left to the next pass. In
// the last pass it is an error. A connection that breaks is made again, and what was not answered is asked
// again; a receiver that was killed finds on its disk what it had.
package transfer

import (
	"context"
	"errors"
	"net"
)

// Connector makes or takes connections: link.Dialer or link.Listener.
type Connector interface {
	Connect(ctx context.Context) (net.Conn, error)
}

// ErrDiscard is that the destination's disk failed: nothing that was written there can be trusted.
var ErrDiscard = errors.New("the volume must be discarded")

// ErrDifferent is that both sides were read and are not equal.
var ErrDifferent = errors.New("the two sides differ")
