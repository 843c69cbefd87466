"""Lists the versions of each API that brokers offer to clients, in every Kafka release from 0.11 to 4.4.

One entry per API: its key, its name, the brokers that offer it, and the releases in which the range of versions changed.
Brokers that run on ZooKeeper (`zk`, up to 3.9) and with KRaft (`kraft`, from 2.8 on) have an entry each where they differ.
`2.4:0-3` says that brokers offer versions 0 to 3 from Kafka 2.4 on, `-` that they do not offer the API. What they offer with
`unstable.api.versions.enable` follows a slash, what some brokers of the release offer instead a comma: those with a plugin
that receives client metrics (KIP-714) and, JoinGroup only, 4.0.0 (KAFKA-19444). Source of the facts:
tests/protocol/kafka_api_lists.txt.
"""

_RELEASES = """
0.11 1.0 1.1 2.0 2.1 2.2 2.3 2.4 2.5 2.6 2.7 2.8 3.0 3.1 3.2 3.3 3.4 3.5 3.6 3.7 3.8 3.9 4.0 4.1 4.2 4.3 4.4
"""
RELEASES = tuple(_RELEASES.split())

TABLE = """
 0 Produce                      both  0.11:0-3 1.0:0-5 2.0:0-6 2.1:0-7 2.4:0-8 2.8:0-9 3.7:0-10 3.8:0-11 4.0:0-12
                                      4.1:0-13
 1 Fetch                        both  0.11:0-5 1.0:0-6 1.1:0-7 2.0:0-8 2.1:0-10 2.3:0-11 2.7:0-12 3.1:0-13 3.5:0-15
                                      3.7:0-16 3.9:0-17 4.0:4-17 4.1:4-18
 2 ListOffsets                  both  0.11:0-2 2.0:0-3 2.1:0-4 2.2:0-5 2.8:0-6 3.0:0-7 3.5:0-8 3.9:0-9 4.0:1-10 4.2:1-11
 3 Metadata                     both  0.11:0-4 1.0:0-5 2.0:0-6 2.1:0-7 2.3:0-8 2.4:0-9 2.8:0-11 3.1:0-12 4.0:0-13
 4 LeaderAndIsr                 zk    0.11:0-0 1.0:0-1 2.2:0-2 2.4:0-4 2.8:0-5 3.2:0-6 3.4:0-7
 5 StopReplica                  zk    0.11:0-0 2.2:0-1 2.4:0-2 2.6:0-3 3.4:0-4
 6 UpdateMetadata               zk    0.11:0-3 1.0:0-4 2.2:0-5 2.4:0-6 2.8:0-7 3.4:0-8
 7 ControlledShutdown           zk    0.11:1-1 1.0:0-1 2.2:0-2 2.4:0-3
 8 OffsetCommit                 both  0.11:0-3 2.0:0-4 2.1:0-6 2.3:0-7 2.4:0-8 3.6:0-8/0-9 3.7:0-9 4.0:2-9 4.1:2-9/2-10
                                      4.2:2-10
 9 OffsetFetch                  both  0.11:0-3 2.0:0-4 2.1:0-5 2.4:0-6 2.5:0-7 3.0:0-8 3.7:0-9 4.0:1-9 4.1:1-9/1-10
                                      4.2:1-10
10 FindCoordinator              both  0.11:0-1 2.0:0-2 2.4:0-3 3.0:0-4 3.8:0-5 3.9:0-6
11 JoinGroup                    both  0.11:0-2 2.0:0-3 2.2:0-4 2.3:0-5 2.4:0-6 2.5:0-7 3.2:0-9 4.0:0-9,2-9 4.1:0-9
12 Heartbeat                    both  0.11:0-1 2.0:0-2 2.3:0-3 2.4:0-4
13 LeaveGroup                   both  0.11:0-1 2.0:0-2 2.4:0-4 3.2:0-5
14 SyncGroup                    both  0.11:0-1 2.0:0-2 2.3:0-3 2.4:0-4 2.5:0-5
15 DescribeGroups               both  0.11:0-1 2.0:0-2 2.3:0-3 2.4:0-5 4.0:0-6
16 ListGroups                   both  0.11:0-1 2.0:0-2 2.4:0-3 2.6:0-4 3.8:0-5
17 SaslHandshake                both  0.11:0-0 1.0:0-1
18 ApiVersions                  both  0.11:0-1 2.0:0-2 2.4:0-3 3.9:0-4 4.4:0-5
19 CreateTopics                 both  0.11:0-2 2.0:0-3 2.4:0-5 2.7:0-6 2.8:0-7 4.0:2-7
20 DeleteTopics                 both  0.11:0-1 2.0:0-2 2.1:0-3 2.4:0-4 2.7:0-5 2.8:0-6 4.0:1-6
21 DeleteRecords                both  0.11:0-0 2.0:0-1 2.6:0-2
22 InitProducerId               zk    0.11:0-0 2.0:0-1 2.4:0-2 2.5:0-3 2.7:0-4 3.8:0-5
22 InitProducerId               kraft 3.0:0-4 3.8:0-5 4.1:0-5/0-6
23 OffsetForLeaderEpoch         both  0.11:0-0 2.0:0-1 2.1:0-2 2.3:0-3 2.8:0-4 4.0:2-4
24 AddPartitionsToTxn           zk    0.11:0-0 2.0:0-1 2.7:0-2 2.8:0-3 3.5:0-3/0-4 3.6:0-4 3.8:0-5
24 AddPartitionsToTxn           kraft 3.0:0-3 3.5:0-3/0-4 3.6:0-4 3.8:0-5
25 AddOffsetsToTxn              zk    0.11:0-0 2.0:0-1 2.7:0-2 2.8:0-3 3.8:0-4
25 AddOffsetsToTxn              kraft 3.0:0-3 3.8:0-4
26 EndTxn                       zk    0.11:0-0 2.0:0-1 2.7:0-2 2.8:0-3 3.8:0-4
26 EndTxn                       kraft 3.0:0-3 3.8:0-4 4.0:0-5
27 WriteTxnMarkers              both  0.11:0-0 2.8:0-1 4.0:1-1 4.2:1-2
28 TxnOffsetCommit              zk    0.11:0-0 2.0:0-1 2.1:0-2 2.5:0-3 3.8:0-4
28 TxnOffsetCommit              kraft 3.0:0-3 3.8:0-4 4.0:0-5 4.4:0-6
29 DescribeAcls                 zk    0.11:0-0 2.0:0-1 2.5:0-2 3.3:0-3
29 DescribeAcls                 kraft 3.0:0-2 3.3:0-3 4.0:1-3
30 CreateAcls                   zk    0.11:0-0 2.0:0-1 2.5:0-2 3.3:0-3
30 CreateAcls                   kraft 3.0:0-2 3.3:0-3 4.0:1-3
31 DeleteAcls                   zk    0.11:0-0 2.0:0-1 2.5:0-2 3.3:0-3
31 DeleteAcls                   kraft 3.0:0-2 3.3:0-3 4.0:1-3
32 DescribeConfigs              both  0.11:0-0 1.1:0-1 2.0:0-2 2.6:0-3 2.8:0-4 4.0:1-4
33 AlterConfigs                 zk    0.11:0-0 2.0:0-1 2.8:0-2
33 AlterConfigs                 kraft 3.0:0-2
34 AlterReplicaLogDirs          both  1.0:0-0 2.0:0-1 2.8:0-2 4.0:1-2
35 DescribeLogDirs              both  1.0:0-0 2.0:0-1 2.6:0-2 3.2:0-3 3.3:0-4 4.0:1-4 4.3:1-5
36 SaslAuthenticate             both  1.0:0-0 2.2:0-1 2.5:0-2
37 CreatePartitions             zk    1.0:0-0 2.0:0-1 2.5:0-2 2.7:0-3
37 CreatePartitions             kraft 3.0:0-3
38 CreateDelegationToken        zk    1.1:0-0 2.0:0-1 2.4:0-2 3.3:0-3
38 CreateDelegationToken        kraft 3.6:0-3 4.0:1-3
39 RenewDelegationToken         zk    1.1:0-0 2.0:0-1 2.5:0-2
39 RenewDelegationToken         kraft 3.6:0-2 4.0:1-2
40 ExpireDelegationToken        zk    1.1:0-0 2.0:0-1 2.5:0-2
40 ExpireDelegationToken        kraft 3.6:0-2 4.0:1-2
41 DescribeDelegationToken      zk    1.1:0-0 2.0:0-1 2.5:0-2 3.3:0-3
41 DescribeDelegationToken      kraft 3.6:0-3 4.0:1-3
42 DeleteGroups                 both  1.1:0-0 2.0:0-1 2.4:0-2 4.4:0-3
43 ElectLeaders                 zk    2.2:0-0 2.4:0-2
43 ElectLeaders                 kraft 3.0:0-2
44 IncrementalAlterConfigs      both  2.3:0-0 2.4:0-1
45 AlterPartitionReassignments  zk    2.4:0-0
45 AlterPartitionReassignments  kraft 3.0:0-0 4.1:0-1
46 ListPartitionReassignments   zk    2.4:0-0
46 ListPartitionReassignments   kraft 3.0:0-0
47 OffsetDelete                 both  2.4:0-0
48 DescribeClientQuotas         zk    2.6:0-0 2.8:0-1
48 DescribeClientQuotas         kraft 3.0:0-1
49 AlterClientQuotas            both  2.6:0-0 2.8:0-1
50 DescribeUserScramCredentials zk    2.7:0-0
50 DescribeUserScramCredentials kraft 3.5:0-0
51 AlterUserScramCredentials    zk    2.7:0-0
51 AlterUserScramCredentials    kraft 3.5:0-0
55 DescribeQuorum               kraft 2.8:0-0 3.3:0-1 3.9:0-2
56 AlterPartition               zk    2.7:0-0 3.2:0-1 3.3:0-2 3.5:0-3
57 UpdateFeatures               zk    2.7:0-0 3.3:0-1
57 UpdateFeatures               kraft 3.2:0-0 3.3:0-1 4.0:0-2
58 Envelope                     zk    3.4:0-0
60 DescribeCluster              both  2.8:0-0 3.7:0-1 4.0:0-2
61 DescribeProducers            both  2.8:0-0
64 UnregisterBroker             kraft 2.8:0-0 3.0:- 3.3:0-0
65 DescribeTransactions         both  3.0:0-0
66 ListTransactions             both  3.0:0-0 3.8:0-1 4.1:0-2
67 AllocateProducerIds          zk    3.0:0-0
68 ConsumerGroupHeartbeat       both  3.5:-/0-0 3.7:0-0 4.0:0-1
69 ConsumerGroupDescribe        both  3.7:-/0-0 3.8:0-0 4.0:0-1
71 GetTelemetrySubscriptions    kraft 3.7:-,0-0
72 PushTelemetry                kraft 3.7:-,0-0
74 ListConfigResources          kraft 3.7:0-0 4.1:0-1
75 DescribeTopicPartitions      kraft 3.8:0-0
76 ShareGroupHeartbeat          kraft 3.9:-/0-0 4.1:1-1
77 ShareGroupDescribe           kraft 3.9:-/0-0 4.1:1-1
78 ShareFetch                   kraft 3.9:-/0-0 4.1:1-1 4.2:1-2
79 ShareAcknowledge             kraft 3.9:-/0-0 4.1:1-1 4.2:1-2
80 AddRaftVoter                 kraft 3.9:0-0 4.2:0-1
81 RemoveRaftVoter              kraft 3.9:0-0
83 InitializeShareGroupState    kraft 3.9:-/0-0 4.1:0-0
84 ReadShareGroupState          kraft 3.9:-/0-0 4.1:0-0
85 WriteShareGroupState         kraft 3.9:-/0-0 4.1:0-0 4.2:0-1
86 DeleteShareGroupState        kraft 3.9:-/0-0 4.1:0-0
87 ReadShareGroupStateSummary   kraft 3.9:-/0-0 4.1:0-0 4.2:0-1
88 StreamsGroupHeartbeat        both  4.1:-/0-0 4.2:0-0 4.4:0-1
89 StreamsGroupDescribe         both  4.1:-/0-0 4.2:0-0 4.4:0-1
90 DescribeShareGroupOffsets    both  4.1:0-0 4.2:0-1
91 AlterShareGroupOffsets       both  4.1:0-0
92 DeleteShareGroupOffsets      both  4.1:0-0
93 StreamsGroupTopologyDescriptionUpdate both 4.4:0-0
94 UnregisterController         both  4.4:0-0
"""
