# The image of the manager: the program and nothing else, not run by root.
#
#   CGO_ENABLED=0 make build && docker build -t IMAGE:TAG -f Dockerfile bin
#
# It has no certificates of public authorities: a kubeconfig that a Migration names must
# hold the authority of its cluster, as kubeconfigs that kubeadm writes do.
FROM scratch
COPY manager /manager
USER 65532:65532
ENTRYPOINT ["/manager"]
