// Constants: Gauss-Legendre rules, the integration matrix of a panel of InfExp, 1/k!. tests/core/test_tables.py computes them.
#pragma once

namespace quorate::tables {

// Rules on [0, 1] with 1, 2, ..., 12 nodes, one after the other.
constexpr int MOST_NODES = 12;
alignas(64) inline constexpr double GAUSS_NODES[78] = {
    0x1.0000000000000p-1, 0x1.b0cb174df99c8p-3, 0x1.93cd3a2c8198ep-1, 0x1.cda042f0236e0p-4,
    0x1.0000000000000p-1, 0x1.c64bf7a1fb924p-1, 0x1.1c6490c2719ecp-4, 0x1.51ee013116102p-2,
    0x1.5708ff6774f7fp-1, 0x1.dc736de7b1cc2p-1, 0x1.80498fd662cb8p-5, 0x1.d89b804cc91f6p-3,
    0x1.0000000000000p-1, 0x1.89d91feccdb82p-1, 0x1.e7fb670299d34p-1, 0x1.149ad8bfaff18p-5,
    0x1.5aebed3546d44p-3, 0x1.85d3b4bf2628fp-2, 0x1.3d1625a06ceb9p-1, 0x1.a94504b2ae4afp-1,
    0x1.eeb652740500ep-1, 0x1.a0e871839dd60p-6, 0x1.08ac0c838bc54p-3, 0x1.303510773014fp-2,
    0x1.0000000000000p-1, 0x1.67e577c467f58p-1, 0x1.bdd4fcdf1d0ebp-1, 0x1.f2f8bc73e3115p-1,
    0x1.454e34f5339a0p-6, 0x1.a06d536d82f88p-4, 0x1.e5dad4f9af698p-3, 0x1.a214dac30e32fp-2,
    0x1.2ef5929e78e68p-1, 0x1.86894ac19425ap-1, 0x1.cbf255924fa0fp-1, 0x1.f5d58e5856633p-1,
    0x1.04d4d140defa0p-6, 0x1.4fceec3cbf5a0p-4, 0x1.8be85bf1004e8p-3, 0x1.59fb748dbaacdp-2,
    0x1.0000000000000p-1, 0x1.530245b922a9ap-1, 0x1.9d05e903bfec6p-1, 0x1.d60622786814cp-1,
    0x1.f7d95975f9083p-1, 0x1.ab83f3aa1a500p-7, 0x1.1459a858d3434p-4, 0x1.4848dbae43cd0p-3,
    0x1.2219ffb7f4a92p-2, 0x1.b3c6be1db8762p-2, 0x1.261ca0f123c4fp-1, 0x1.6ef3002405ab7p-1,
    0x1.adedc9146f0ccp-1, 0x1.dd74caf4e597ap-1, 0x1.f951f0315796cp-1, 0x1.64b3a0502c960p-7,
    0x1.ce977287dc568p-5, 0x1.1453085bcd76cp-3, 0x1.ec7210764e63ep-3, 0x1.75fe7080a5ea0p-2,
    0x1.0000000000000p-1, 0x1.4500c7bfad0b0p-1, 0x1.84e37be26c670p-1, 0x1.baeb3de90ca25p-1,
    0x1.e31688d7823aap-1, 0x1.fa6d317ebf4dap-1, 0x1.2e1c4e37a2fe0p-7, 0x1.88bc58023ba68p-5,
    0x1.d73d4449dc328p-4, 0x1.a6961f47f100ep-3, 0x1.43ab96faba732p-2, 0x1.bfe1681c273c7p-2,
    0x1.200f4bf1ec61cp-1, 0x1.5e2a3482a2c67p-1, 0x1.965a782e03bfcp-1, 0x1.c5185776c479bp-1,
    0x1.e7743a7fdc45ap-1, 0x1.fb478ec721740p-1,
};
alignas(64) inline constexpr double GAUSS_SHARES[78] = {
    0x1.0000000000000p+0, 0x1.0000000000000p-1, 0x1.0000000000000p-1, 0x1.1c71c71c71c73p-2,
    0x1.c71c71c71c71cp-2, 0x1.1c71c71c71c73p-2, 0x1.64340f7e7b666p-3, 0x1.4de5f840c24cdp-2,
    0x1.4de5f840c24cdp-2, 0x1.64340f7e7b666p-3, 0x1.e539ec36e0393p-4, 0x1.ea1da25ae4158p-3,
    0x1.23456789abcddp-2, 0x1.ea1da25ae4158p-3, 0x1.e539ec36e0393p-4, 0x1.5edf601e2dbf5p-4,
    0x1.716b7b5794c1ep-3, 0x1.df24d499545e8p-3, 0x1.df24d499545e8p-3, 0x1.716b7b5794c1ep-3,
    0x1.5edf601e2dbf5p-4, 0x1.092f69f826d58p-4, 0x1.1e6b1713d8648p-3, 0x1.86fe74ee32b39p-3,
    0x1.abfd7e03c2fa4p-3, 0x1.86fe74ee32b39p-3, 0x1.1e6b1713d8648p-3, 0x1.092f69f826d58p-4,
    0x1.9ea1d04ca03aep-5, 0x1.c76fb531d2b94p-4, 0x1.413c50a25560ep-3, 0x1.736360b19933dp-3,
    0x1.736360b19933dp-3, 0x1.413c50a25560ep-3, 0x1.c76fb531d2b94p-4, 0x1.9ea1d04ca03aep-5,
    0x1.4ce65f803eee6p-5, 0x1.71f7a9b222be9p-4, 0x1.0add87c827509p-3, 0x1.3fd7e9838d513p-3,
    0x1.522a43f65486bp-3, 0x1.3fd7e9838d513p-3, 0x1.0add87c827509p-3, 0x1.71f7a9b222be9p-4,
    0x1.4ce65f803eee6p-5, 0x1.1115f8b62dc1fp-5, 0x1.32138c878efdep-4, 0x1.c0b059d00bc30p-4,
    0x1.13baa7a559c01p-3, 0x1.2e9de7014d6eep-3, 0x1.2e9de7014d6eep-3, 0x1.13baa7a559c01p-3,
    0x1.c0b059d00bc30p-4, 0x1.32138c878efdep-4, 0x1.1115f8b62dc1fp-5, 0x1.c8097265bb94bp-6,
    0x1.013047def88c3p-4, 0x1.7d85b8dbff19ap-4, 0x1.dd94b1446e05fp-4, 0x1.0d1ca26fa590dp-3,
    0x1.1779ac87e04d4p-3, 0x1.0d1ca26fa590dp-3, 0x1.dd94b1446e05fp-4, 0x1.7d85b8dbff19ap-4,
    0x1.013047def88c3p-4, 0x1.c8097265bb94bp-6, 0x1.8275d9dea6d53p-6, 0x1.b60602bce61afp-5,
    0x1.47d7258f22d96p-4, 0x1.a0163e6b1ab6bp-4, 0x1.de3155c256aaep-4, 0x1.fe40ce6d4f022p-4,
    0x1.fe40ce6d4f022p-4, 0x1.de3155c256aaep-4, 0x1.a0163e6b1ab6bp-4, 0x1.47d7258f22d96p-4,
    0x1.b60602bce61afp-5, 0x1.8275d9dea6d53p-6,
};

// A panel of InfExp: 16 nodes on (-1/2, 1/2), ascending, and their weights; MIRRORED: first those left of the middle,
// then their mirror images.
alignas(64) inline constexpr double NODES[16] = {
    -0x1.fa92c264d787ep-2, -0x1.e39f56616f9b0p-2, -0x1.bb3403514e483p-2, -0x1.82c45dda4726bp-2,
    -0x1.3c5a466d5e8b8p-2, -0x1.d50259a43a772p-3, -0x1.205cae642337cp-3, -0x1.852bd6676a9f9p-5,
    0x1.852bd6676a9f9p-5, 0x1.205cae642337cp-3, 0x1.d50259a43a772p-3, 0x1.3c5a466d5e8b8p-2,
    0x1.82c45dda4726bp-2, 0x1.bb3403514e483p-2, 0x1.e39f56616f9b0p-2, 0x1.fa92c264d787ep-2,
};
alignas(64) inline constexpr double WEIGHTS[16] = {
    0x1.bcddab4b7c228p-7, 0x1.fdfb1a2c1261ep-6, 0x1.85c4ee79cc24bp-5, 0x1.fe7af2bad3878p-5,
    0x1.325f61bca3cbep-4, 0x1.5a6ebbb5a7600p-4, 0x1.75f8c77e0c011p-4, 0x1.83feae80e4e01p-4,
    0x1.83feae80e4e01p-4, 0x1.75f8c77e0c011p-4, 0x1.5a6ebbb5a7600p-4, 0x1.325f61bca3cbep-4,
    0x1.fe7af2bad3878p-5, 0x1.85c4ee79cc24bp-5, 0x1.fdfb1a2c1261ep-6, 0x1.bcddab4b7c228p-7,
};
alignas(64) inline constexpr double MIRRORED[16] = {
    -0x1.fa92c264d787ep-2, -0x1.e39f56616f9b0p-2, -0x1.bb3403514e483p-2, -0x1.82c45dda4726bp-2,
    -0x1.3c5a466d5e8b8p-2, -0x1.d50259a43a772p-3, -0x1.205cae642337cp-3, -0x1.852bd6676a9f9p-5,
    0x1.fa92c264d787ep-2, 0x1.e39f56616f9b0p-2, 0x1.bb3403514e483p-2, 0x1.82c45dda4726bp-2,
    0x1.3c5a466d5e8b8p-2, 0x1.d50259a43a772p-3, 0x1.205cae642337cp-3, 0x1.852bd6676a9f9p-5,
};
alignas(64) inline constexpr double MIRRORED_WEIGHTS[16] = {
    0x1.bcddab4b7c228p-7, 0x1.fdfb1a2c1261ep-6, 0x1.85c4ee79cc24bp-5, 0x1.fe7af2bad3878p-5,
    0x1.325f61bca3cbep-4, 0x1.5a6ebbb5a7600p-4, 0x1.75f8c77e0c011p-4, 0x1.83feae80e4e01p-4,
    0x1.bcddab4b7c228p-7, 0x1.fdfb1a2c1261ep-6, 0x1.85c4ee79cc24bp-5, 0x1.fe7af2bad3878p-5,
    0x1.325f61bca3cbep-4, 0x1.5a6ebbb5a7600p-4, 0x1.75f8c77e0c011p-4, 0x1.83feae80e4e01p-4,
};

// Running integrals from the values at the nodes: even and odd part of the matrix (accumulate in infinite.cpp).
alignas(64) inline constexpr double EVEN[8][8] = {
    {0x1.be251684f7b0ep-9, 0x1.e054c70b5c3c2p-8, 0x1.ac459d11225d5p-8, 0x1.c66cf2e9ce442p-8,
     0x1.b6f249fe3d6c1p-8, 0x1.c081d986fb7dap-8, 0x1.badf3a653ba5ep-8, 0x1.bd808fcde3f36p-8},
    {-0x1.572b18a8c9680p-10, 0x1.00b3b87c38795p-7, 0x1.14155c90ae5cap-6, 0x1.e99d5f534236ap-7,
     0x1.04dee708a26dcp-6, 0x1.f6fc14bbb51a9p-7, 0x1.00dfbc06f272cp-6, 0x1.fcc98d68ce4fep-7},
    {0x1.0bd68884c5240p-10, -0x1.1ce0390d6d600p-9, 0x1.8a1c980355411p-7, 0x1.a58830c092836p-6,
     0x1.76b85554cd612p-6, 0x1.8e079a55df8d4p-6, 0x1.817c36461f55dp-6, 0x1.871b1630c810cp-6},
    {-0x1.cf287fe8f9b60p-11, 0x1.9c15585932400p-10, -0x1.8458e4dbaf1b0p-9, 0x1.037f9796f222cp-6,
     0x1.13559577ad9f5p-5, 0x1.ec71c0ec0a254p-6, 0x1.038fe941d886cp-5, 0x1.fbdd285a14000p-6},
    {0x1.a4df3a3ceef60p-11, -0x1.5cea36e024950p-10, 0x1.0d0755c7b26c8p-9, -0x1.e464861bef558p-9,
     0x1.39db724b57b09p-6, 0x1.491339f1cd866p-5, 0x1.296814fc7bf92p-5, 0x1.34eb8750bd06ap-5},
    {-0x1.8aeddf5c2bfc0p-11, 0x1.3c7c3920e3f70p-10, -0x1.c1bbfb2d7f690p-10, 0x1.49b3083c29bb0p-9,
     -0x1.1fee9cedbc558p-8, 0x1.674a77664476ap-6, 0x1.7110b8d3645bap-5, 0x1.54f79256465f0p-5},
    {0x1.7bb09f69a24e0p-11, -0x1.2b2169743cb60p-10, 0x1.992ba06849d20p-10, -0x1.14b8a1b00b950p-9,
     0x1.8c19b9dce2a58p-9, -0x1.51bf4e95be3ecp-8, 0x1.8e0907b7687fbp-6, 0x1.85611400cde39p-5},
    {-0x1.7496b9b12f8c0p-11, 0x1.2368a82b37480p-10, -0x1.8864a91a62250p-10, 0x1.014a556d66d38p-9,
     -0x1.59097eccc9de8p-9, 0x1.f0be9344fdbc0p-9, -0x1.a9a9f0a6655ccp-8, 0x1.c9337de92d8dap-6},
};
alignas(64) inline constexpr double ODD[8][8] = {
    {-0x1.be251684f7b12p-9, 0x1.2b5a298999190p-11, -0x1.31b2e550fea00p-12, 0x1.93a058a501dc0p-13,
     -0x1.318fda099fb20p-13, 0x1.fb245fd2701e0p-14, -0x1.c3ab03b04ada0p-14, 0x1.ab339ecd568e0p-14},
    {-0x1.13518f332a7bcp-6, -0x1.00b3b87c38795p-7, 0x1.74bc8d5fce2d4p-10, -0x1.9bae2456306e8p-11,
     0x1.2265de262dca8p-11, -0x1.d1e549b222fe0p-12, 0x1.97ebb3add24d0p-12, -0x1.7f072ffd85af0p-12},
    {-0x1.773aff5fdc5fap-6, -0x1.a602e38a38255p-6, -0x1.8a1c980355413p-7, 0x1.288438eee5650p-9,
     -0x1.5642936869a70p-10, 0x1.f9fe53ca3f680p-11, -0x1.aa746b34f9360p-11, 0x1.8a300f5455040p-11},
    {-0x1.04b9977553a28p-5, -0x1.ea181cdd6cc10p-6, -0x1.140a392d6a5bbp-5, -0x1.037f9796f222ap-6,
     0x1.938ca09093580p-9, -0x1.e5d2c478fc440p-10, 0x1.79bb1f77a5058p-10, -0x1.52838fbb5ad80p-10},
    {-0x1.2e4bc308ef2c0p-5, -0x1.3970121d5d5a0p-5, -0x1.268b1a0ce57b0p-5, -0x1.4a7e03d89b73ep-5,
     -0x1.39db724b57b09p-6, 0x1.fd46122fcb9c8p-9, -0x1.448054ed580e8p-9, 0x1.1073aae3c7718p-9},
    {-0x1.5d44a79acbfc4p-5, -0x1.55ae15642d2b8p-5, -0x1.61c6489e04a64p-5, -0x1.4e31517c08b49p-5,
     -0x1.741a827b7bc37p-5, -0x1.674a77664476cp-6, 0x1.38e0288f6b688p-8, -0x1.bb886589e39e8p-9},
    {-0x1.744baeb4c20e6p-5, -0x1.78bbf468fe3d4p-5, -0x1.71dc8296cd4c8p-5, -0x1.7c4de7976407ap-5,
     -0x1.6b07092aa59f8p-5, -0x1.8e675aae52834p-5, -0x1.8e0907b7687fbp-6, 0x1.9a4781e308e48p-8},
    {-0x1.848cc013ba5d4p-5, -0x1.831637ee7b7c2p-5, -0x1.855347759e7c4p-5, -0x1.82019a07d5f0ep-5,
     -0x1.873891f601f32p-5, -0x1.7ddfa8d1e2f7ap-5, -0x1.93fae1e416de8p-5, -0x1.c9337de92d8dep-6},
};

// 1/2!, 1/3!, ..., 1/12!
alignas(64) inline constexpr double INVERSE_FACTORIALS[11] = {
    0x1.0000000000000p-1, 0x1.5555555555555p-3, 0x1.5555555555555p-5, 0x1.1111111111111p-7,
    0x1.6c16c16c16c17p-10, 0x1.a01a01a01a01ap-13, 0x1.a01a01a01a01ap-16, 0x1.71de3a556c734p-19,
    0x1.27e4fb7789f5cp-22, 0x1.ae64567f544e4p-26, 0x1.1eed8eff8d898p-29,
};

}  // namespace quorate::tables
